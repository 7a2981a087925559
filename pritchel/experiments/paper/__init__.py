"""The regression experiments of Ghosh, Yao and Doshi-Velez (2018): one file a figure."""
