"""What became of the lines that sessions wrote.

`survival` follows them through the changes of a repository; `replaced` asks later transcripts where there is none.
Pure: whoever calls hands in the changes and the trees. Takes written lines; gives `Reworked`.
"""
