"""What torch itself documents, ExportDB and graph breaks: a name or an id in, the entry and its page out."""
