"""The script that Streamlit runs for every visitor; the pages are modules, so that they are read once."""

from lab.ui.site import show_site

show_site()
