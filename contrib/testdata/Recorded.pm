# Stands before a program that draws with RRDs: what it creates begins at a time of the test's, and what it draws is
# written down, a JSON array a line, in the file that RECORDED names. Every graph ends at RECORDED_END.
package Recorded;
use strict;
use warnings;
use JSON::PP;
use RRDs;

my %real = map { $_ => \&{"RRDs::$_"} } qw(create graph graphv);
my $json = JSON::PP->new->ascii;
our @created;    # the arguments of each create

sub drawn {
    my ( $verb, @args ) = @_;
    for ( 0 .. $#args ) {    # from now back, it is from the end back
        $args[$_] =~ s/^--start=-/--start=end-/;
        $args[$_] =~ s/^-/end-/ if $_ && $args[ $_ - 1 ] =~ /^(?:-s|--start)$/;
    }
    push @args, '--end', $ENV{RECORDED_END};
    open my $to, '>>', $ENV{RECORDED} or die "$ENV{RECORDED}: $!\n";
    my @texts = map { '' . ( $_ // '' ) } @args;
    utf8::decode($_) for @texts;
    print $to $json->encode( [ $verb, @texts ] ), "\n";
    close $to or die "$ENV{RECORDED}: $!\n";
    return @args;
}

{
    no strict 'refs';
    no warnings 'redefine';
    *{'RRDs::create'} = sub (@) {
        push @created, [@_];
        return $real{create}->( @_, '--start', $ENV{RECORDED_START} );
    };
    for my $verb (qw(graph graphv)) {
        *{"RRDs::$verb"} = sub (@) { return $real{$verb}->( drawn( $verb, @_ ) ) };
    }
}

# value is the reading of a data source.
sub value {
    my ( $kind, $minute, $which ) = @_;
    return 'U' if ( $minute + 7 * $which ) % 53 == 5;
    return int( $minute * 4000 * ( 1 + $which % 5 ) + 90000 * sin $minute / 90 ) if $kind ne 'GAUGE';
    return sprintf '%.3f', 45 + 40 * sin( $minute / 90 + $which );
}

# fill gives all that was created a value a minute, until the end of the graphs.
sub fill {
    my $number = 0;
    for my $create (@created) {
        my ( $name, @args ) = @$create;
        my @kinds = map { /^DS:[^:]+:(\w+)/ ? $1 : () } @args;
        $number++;
        my @samples;
        for ( my $at = $ENV{RECORDED_START} + 60 ; $at <= $ENV{RECORDED_END} ; $at += 60 ) {
            my $minute = ( $at - $ENV{RECORDED_START} ) / 60;
            my @values = map { value( $kinds[$_], $minute, $_ + $number ) } 0 .. $#kinds;
            push @samples, join ':', $at, @values;
        }
        while ( my @some = splice @samples, 0, 100 ) {
            RRDs::update( $name, @some );
            die RRDs::error() if RRDs::error();
        }
    }
    return;
}

1;
