//! The console: its logins, and the page in a browser.

mod browser;
