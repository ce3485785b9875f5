/* Changes of tables, types and signatures since 1.0: see CONTRIBUTING.md. */
