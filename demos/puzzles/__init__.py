"""Find the bug: broken programs, each with a symptom and the tool that finds its fault; and rules to write yourself."""
