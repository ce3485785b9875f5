# Catalog.pm -- all that an installation of the extensions leaves in a
# database, as lines of text that can be compared.

package TwTasks::Catalog;

use strict;
use warnings FATAL => 'all';

use parent 'Exporter';

use Test::More;

our @EXPORT = qw(catalog_of same_catalog);

my $schemas =
  q{(SELECT oid FROM pg_namespace WHERE nspname IN ('twtasks', 'twtasks_internal'))};
my $extensions =
  q{(SELECT oid FROM pg_extension WHERE extname IN ('twtasks', 'twtasks_events', 'twtasks_kinds'))};

# Each reads one line per object.
my %queries = (
	extension => q{SELECT extname, extversion, extrelocatable, obj_description(e.oid, 'pg_extension')
		FROM pg_extension e WHERE oid IN } . $extensions,
	member => q{SELECT extname, i.type, i.identity FROM pg_depend d
		JOIN pg_extension e ON e.oid = refobjid AND refclassid = 'pg_extension'::regclass
		CROSS JOIN pg_identify_object(d.classid, d.objid, d.objsubid) i
		WHERE deptype = 'e' AND e.oid IN } . $extensions,
	automatic => q{SELECT extname, i.type, i.identity FROM pg_depend d
		JOIN pg_extension e ON e.oid = refobjid AND refclassid = 'pg_extension'::regclass
		CROSS JOIN pg_identify_object(d.classid, d.objid, d.objsubid) i
		WHERE deptype = 'x' AND e.oid IN } . $extensions,
	dump => q{SELECT extname, c.oid::regclass, c.condition
		FROM pg_extension, unnest(extconfig, extcondition) c (oid, condition) WHERE pg_extension.oid IN }
	  . $extensions,
	'first rights' => q{SELECT i.type, i.identity, p.objsubid, p.privtype,
			ARRAY(SELECT a::text FROM unnest(p.initprivs) a ORDER BY 1)
		FROM pg_init_privs p CROSS JOIN pg_identify_object(p.classoid, p.objoid, p.objsubid) i
		WHERE EXISTS (SELECT FROM pg_depend d WHERE d.classid = p.classoid AND d.objid = p.objoid
			AND d.deptype = 'e' AND d.refobjid IN } . $extensions . ')',
	schema => q{SELECT nspname, nspowner::regrole, ARRAY(SELECT a::text FROM unnest(nspacl) a ORDER BY 1),
			obj_description(oid, 'pg_namespace')
		FROM pg_namespace WHERE oid IN } . $schemas,
	function => q{SELECT oid::regprocedure, pg_get_functiondef(oid), proowner::regrole, prosrc, probin,
			ARRAY(SELECT a::text FROM unnest(proacl) a ORDER BY 1), obj_description(oid, 'pg_proc')
		FROM pg_proc WHERE pronamespace IN } . $schemas,
	relation => q{SELECT oid::regclass, relkind, relowner::regrole, reloptions, relreplident, relpersistence,
			relrowsecurity, ARRAY(SELECT a::text FROM unnest(relacl) a ORDER BY 1), obj_description(oid, 'pg_class'),
			pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid),
			CASE WHEN relkind = 'v' THEN pg_get_viewdef(oid) END
		FROM pg_class WHERE relnamespace IN } . $schemas,
	# Without gaps, which dropped columns leave.
	column => q{SELECT attrelid::regclass, row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname,
			format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, attidentity, attgenerated,
			attstorage, attcompression, nullif(attstattarget, -1),
			ARRAY(SELECT o FROM unnest(attoptions) o WHERE o NOT LIKE 'pg\_attver=%'), attacl,
			pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
		FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
		WHERE attnum > 0 AND NOT attisdropped AND relkind <> 'i' AND relnamespace IN } . $schemas,
	constraint => q{SELECT conrelid::regclass, contypid::regtype, conname, pg_get_constraintdef(oid), convalidated
		FROM pg_constraint WHERE connamespace IN } . $schemas,
	index => q{SELECT pg_get_indexdef(indexrelid), indisvalid, indisclustered, indisreplident
		FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relnamespace IN } . $schemas,
	trigger => q{SELECT tgrelid::regclass, pg_get_triggerdef(t.oid), tgenabled, obj_description(t.oid, 'pg_trigger')
		FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
		WHERE NOT tgisinternal AND relnamespace IN } . $schemas,
	'event trigger' => q{SELECT evtname, evtevent, evtfoid::regproc, evtenabled, evttags FROM pg_event_trigger},
	policy => q{SELECT polrelid::regclass, polname, polcmd, pg_get_expr(polqual, polrelid) FROM pg_policy},
	type => q{SELECT oid::regtype, typtype, typowner::regrole, typnotnull, typdefault,
			ARRAY(SELECT a::text FROM unnest(typacl) a ORDER BY 1), obj_description(oid, 'pg_type'),
			ARRAY(SELECT enumlabel FROM pg_enum WHERE enumtypid = pg_type.oid ORDER BY enumsortorder)
		FROM pg_type WHERE typnamespace IN } . $schemas,
	sequence => q{SELECT seqrelid::regclass, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle
		FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE relnamespace IN } . $schemas,
	'default rights' => q{SELECT defaclrole::regrole, defaclnamespace::regnamespace, defaclobjtype, defaclacl
		FROM pg_default_acl},
	transition => q{SELECT * FROM twtasks.transition},
	rule => q{SELECT * FROM twtasks_internal.kind_rule},
	role => q{SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolbypassrls,
			ARRAY(SELECT member::regrole::text FROM pg_auth_members WHERE roleid = r.oid ORDER BY 1)
		FROM pg_roles r WHERE rolname LIKE 'twtasks%'});

# Partitions that the leader makes belong to no installation.
my $made_later = qr/\b(?:finished_task_\d{8}|task_attempt_(?:\d{8}|other))/;

# Returns what the session's database has, with no names of schemas left out.
sub catalog_of
{
	my ($session) = @_;

	$session->query(q{SET search_path = ''});
	my $no_kinds = $session->query(q{SELECT to_regclass('twtasks_internal.kind_rule') IS NULL}) eq 't';
	return {
		map {
			$_ => $no_kinds && $_ eq 'rule' ? [] : [ grep { !/$made_later/ } split /\n(?=\()/, $session->query("SELECT q::text FROM ($queries{$_}) q ORDER BY 1") ]
		} keys %queries };
}

# Tests that an installation is what another one is.
sub same_catalog
{
	my ($got, $expected, $name) = @_;
	my @differences;

	foreach my $what (sort keys %queries)
	{
		my %got = map { $_ => 1 } @{ $got->{$what} };
		my %expected = map { $_ => 1 } @{ $expected->{$what} };

		push @differences, map { "unexpected $what: $_" } grep { !$expected{$_} } sort keys %got;
		push @differences, map { "missing $what: $_" } grep { !$got{$_} } sort keys %expected;
	}
	ok(!@differences, $name) or diag(join "\n", @differences);
	return;
}

1;
