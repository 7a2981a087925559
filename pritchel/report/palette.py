"""The colours of every picture and page."""

INK = "#22313f"  # text, reference lines, the truth
BLUE = "#2a6f97"  # what was predicted
RED = "#c8553d"  # what it is compared with; units that live
GREY = "#b8c4cc"  # data, frames; units that are off
PALE = "#cbdfeb"  # blue as a filling
GOLD = "#d9a21b"  # the paper's own figures
GREEN, PURPLE = "#6a994e", "#8d5a97"

SERIES = (BLUE, RED, GREEN, PURPLE, GOLD)  # where colours only tell lines apart
SETTINGS = {"paper": RED, "ours": BLUE}  # by kind of settings

# Of pages: notes, rules, the ground of commands, and a verdict's ground and text.
SOFT, LINE, SHADE = "#5b6577", "#dde2ea", "#f5f7fa"
VERDICTS = {
    "holds": ("#dff3e4", "#14532d"),
    "does not hold": ("#fde2e1", "#7f1d1d"),
    "unclear": ("#fdf1d3", "#713f12"),
    "no difference": ("#eceff3", "#334155"),
    "depends": ("#e4ecfb", "#1e3a8a"),
}
