"""The script that Streamlit runs for every visitor; the page itself is a module, so that it is read once."""

from lab.ui.page import show_page

show_page()
