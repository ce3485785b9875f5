"""Settings of the application that tests helpers/django."""

import os
import sys
from urllib.parse import urlsplit

if sys.argv[1:] == ["work"]:
    print("noise of a start")
_url = urlsplit(os.environ["DATABASE_URL"])

SECRET_KEY = "of a test"
USE_TZ = True
INSTALLED_APPS = []
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _url.path[1:],
        "USER": _url.username,
        "HOST": _url.hostname,
        "PORT": _url.port,
    }
}
TASKS = {"default": {"BACKEND": os.environ.get("SHOP_TASKS", "twtasks_django.Backend")}}
