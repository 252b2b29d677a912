"""Pages: values become HTML that needs nothing from elsewhere, the same for a server and for a file.

- `html`: how HTML is written and leaves: escaped, without a character that a browser would obey
- `links`: where things are found, in a server or inside one file; `context`: what every page is told beside its values
- `assets`: style and script, named after what they hold; `style/` and `page.js` are the files
- `frame`: what stands around every page; `single`: many pages in one file that opens by double-click
- `marks`: chips, scores, facts, quotes, notes, empty states; `tables`: rows, filters, pagers
- `conversation`: turns, calls and diffs of a session
- `charts`: what is drawn, as values, with the same in words and rows; `drawing`: these as SVG; `pictures`: as files
- `pages/`: a file for each page; `report`: a report as one file, with the lists and sessions that its numbers lead to

Takes what commands print, as values; gives bytes. Nothing is read here: words were redacted before they came
(`pipeline/privacy`). htpy is an extra, imported by the server and by commands that write pages.
"""
