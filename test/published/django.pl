# django.pl -- a project that Django generates runs its tasks as docs/helpers.md says.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Published;

my $page = TwTasks::Published->create('Django');
my ($settings, $tasks, $view) = $page->block('python') =~ /^# settings\.py\n(.*?)^# shop\/tasks\.py\n(.*?)^# a view\n(.*)\z/ms
  or die "the page has other files\n";
# Django 6 needs a newer Python than Debian 12 has.
my $is_new = $page->run('/usr/bin/python3', '-c', 'import sys; print(sys.version_info >= (3, 12))') eq "True\n";

$page->set(DJANGO_SETTINGS_MODULE => 'shop.settings', SHOP_PORT => $page->address =~ s/.*://r);
$page->run('/usr/bin/python3', '-m', 'venv', 'venv');
$page->run(qw(venv/bin/pip install -q psycopg), $is_new ? 'Django>=6' : qw(Django<6 django-tasks));
$page->install('Django', 'venv/bin/pip -q');
$page->run(qw(env --unset=DJANGO_SETTINGS_MODULE venv/bin/django-admin startproject shop .));
$page->write('shop/settings.py', $page->read('shop/settings.py'), <<'PY', $settings);
import os

DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": "shop",
                         "HOST": "127.0.0.1", "PORT": os.environ["SHOP_PORT"]}}
INSTALLED_APPS.append("shop")
print("the shop opens")
PY
$page->write('shop/models.py', <<'PY');
from django.db import models

class Order(models.Model):
    id = models.BigIntegerField(primary_key=True)
    state = models.TextField(default="new")

    class Meta:
        db_table = "orders"
PY
$tasks =~ s/django\.tasks/django_tasks/ if !$is_new;
$page->write('shop/tasks.py', $tasks);
$page->write('order.py', <<'PY', $view);
import django

django.setup()
from django.db import transaction
from shop.models import Order
from shop.tasks import deliver

order = Order(id=7)
PY

$page->start_sidecar;
$page->run('venv/bin/python', 'order.py');
$page->done_ok('django|shop.tasks.deliver', 4);
$page->order_ok('delivered');
$page->print_ok('the shop opens');

done_testing();
