# Calls what it reads, a JSON array [FUNCTION, ARGUMENT…] a line, and prints what comes back, a line each: the values
# and the error. Doubles are shown as their bits, large ones also as they
# print; texts of numbers with a mark.
use strict;
use warnings;
use B;
use JSON::PP;
use RRDs;
use Scalar::Util qw(looks_like_number);

$| = 1;
my $json = JSON::PP->new->canonical->allow_nonref->ascii;

sub shown {
    my ($v) = @_;
    return undef if !defined $v;
    return [ map { shown($_) } @$v ] if ref $v eq 'ARRAY';
    return { map { $_ => shown( $v->{$_} ) } keys %$v } if ref $v eq 'HASH';
    return "text $v" if looks_like_number($v) && B::svref_2object( \$v )->FLAGS & B::SVf_POK;
    return ( unpack 'H*', pack 'd>', $v ) . ( $v == int $v && abs $v > 1e6 ? " $v" : '' ) if looks_like_number($v);
    return "$v";
}

while (<STDIN>) {
    my ( $function, @args ) = @{ $json->decode($_) };
    utf8::encode($_) for @args;
    no strict 'refs';
    my @got = &{"RRDs::$function"}(@args);
    print $json->encode( { got => shown( \@got ), error => RRDs::error() // '' } ), "\n";
}
