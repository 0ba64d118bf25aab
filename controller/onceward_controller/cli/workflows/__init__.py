"""``onceward workflows``: looking, acting, deciding."""
