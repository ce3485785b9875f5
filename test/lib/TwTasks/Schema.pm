# Schema.pm -- judges JSON by the schemas of the management API, which use a small
# part of JSON Schema: any other keyword is an error.

package TwTasks::Schema;

use strict;
use warnings FATAL => 'all';

use B ();
use Exporter qw(import);
use JSON::PP;

our @EXPORT_OK = qw(schema_faults use_schemas);

my %formats = (
	'date-time' => qr/^\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
	'uuid' => qr/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
my %schemas;

# The schemas of a description of the API, to which names refer.
sub use_schemas
{
	my ($description) = @_;

	%schemas = %{ $description->{components}{schemas} };
	return;
}

sub type_of
{
	my ($value) = @_;

	return 'null' unless defined $value;
	return 'boolean' if JSON::PP::is_bool($value);
	return ref $value eq 'HASH' ? 'object' : 'array' if ref $value;
	return 'string' unless B::svref_2object(\$value)->FLAGS & (B::SVp_IOK | B::SVp_NOK);
	return $value =~ /^-?\d+$/ ? 'integer' : 'number';
}

sub is_of
{
	my ($type, $wanted) = @_;

	return scalar grep { $_ eq $type || $_ eq 'number' && $type eq 'integer' } ref $wanted ? @$wanted : $wanted;
}

# The faults of an object, each with its place.
sub object_faults
{
	my ($value, $schema, $place) = @_;
	my $properties = $schema->{properties} // {};

	return (
		(map { exists $value->{$_} ? () : "$place lacks $_" } @{ $schema->{required} // [] }),
		map {
			      $properties->{$_} ? faults($value->{$_}, $properties->{$_}, "$place.$_")
				: ($schema->{additionalProperties} // 1) ? ()
				: "$place has $_"
		  } sort keys %$value);
}

my %keywords = (
	description => sub { () },
	'$ref' => sub {
		my ($value, $name, $place) = @_;
		my $schema = $schemas{ $name =~ s{.*/}{}r } // die "no schema $name";

		return faults($value, $schema, $place);
	},
	anyOf => sub {
		my ($value, $any, $place) = @_;

		return (grep { !faults($value, $_, $place) } @$any) ? () : "$place is none of them";
	},
	type => sub {
		my ($value, $type, $place) = @_;

		return is_of(type_of($value), $type) ? () : "$place is " . type_of($value);
	},
	enum => sub {
		my ($value, $any, $place) = @_;

		return (grep { defined $_ ? defined $value && $value eq $_ : !defined $value } @$any) ? () : "$place is " . ($value // 'null');
	},
	pattern => sub {
		my ($value, $pattern, $place) = @_;

		return !defined $value || $value =~ /$pattern/ ? () : "$place is $value";
	},
	format => sub {
		my ($value, $format, $place) = @_;

		return !defined $value || $value =~ $formats{$format} ? () : "$place is $value";
	},
	minimum => sub { my ($value, $least, $place) = @_; return !defined $value || $value >= $least ? () : "$place is $value" },
	maxItems => sub { my ($value, $most, $place) = @_; return !defined $value || @$value <= $most ? () : "$place has " . @$value },
	minItems => sub { my ($value, $least, $place) = @_; return !defined $value || @$value >= $least ? () : "$place has " . @$value },
	items => sub {
		my ($value, $schema, $place) = @_;

		return map { faults($value->[$_], $schema, "$place\[$_]") } 0 .. $#{ $value // [] };
	},
	properties => sub { () }, required => sub { () }, additionalProperties => sub { () });

sub faults
{
	my ($value, $schema, $place) = @_;
	my @faults = map { ($keywords{$_} // die "unknown keyword $_")->($value, $schema->{$_}, $place) } sort keys %$schema;

	return (@faults, ref $value eq 'HASH' && $schema->{properties} ? object_faults($value, $schema, $place) : ());
}

# All that does not fit the schema of that name; an empty list: all fits.
sub schema_faults
{
	my ($value, $name) = @_;

	return faults($value, $schemas{$name} // die("no schema $name"), $name);
}

1;
