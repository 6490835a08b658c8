"""Reports of previews for people: text, Markdown, HTML, and comments with a budget."""
