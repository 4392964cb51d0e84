"""The page door: a chat inside a web page, whose history the page keeps and the server seals."""
