# Stands before a program that draws with RRDs: what it creates begins at a time of the test's, what it asks for is about
# the time before RECORDED_END, and what it draws is written down in the file that RECORDED names. A line is a JSON object
# of the call, and what came of it.
package Recorded;
use strict;
use warnings;
use JSON::PP;
use RRDs;

my %real = map { $_ => \&{"RRDs::$_"} } qw(create fetch graph graphv);
my $json = JSON::PP->new->ascii->canonical;
our @created;    # the arguments of each create
our $within;     # a call, which may make others

# at returns a time of the graphs for one that is told from now.
sub at {
    my ( $option, $time ) = @_;
    return $ENV{RECORDED_END} - ( $1 // 0 ) if $time =~ /^(?:now|(?:now)?-(\d+))$/;
    $time =~ s/^(?:now)?-/end-/ if $option =~ /s/;
    return $time;
}

# moved returns arguments whose times are those of the graphs.
sub moved {
    my @args = map { $_ // '' } @_;
    my $ended;
    for ( 0 .. $#args ) {
        $args[$_] =~ s/^(--start|--end)=(.*)/"$1=" . at( $1, $2 )/e;
        $args[$_] = at( $args[ $_ - 1 ], $args[$_] ) if $_ && $args[ $_ - 1 ] =~ /^(?:-s|-e|--start|--end)$/;
        $ended = 1 if $args[$_] =~ /^(?:-e$|--end)/;
    }
    return @args, $ended ? () : ( '--end', $ENV{RECORDED_END} );
}

# text returns a value with its numbers as texts, without pictures.
sub text {
    my ($value) = @_;
    return undef if !defined $value;
    return [ map { text($_) } @$value ] if ref $value eq 'ARRAY';
    return { map { $_ => text( $value->{$_} ) } grep { $_ ne 'image' } keys %$value } if ref $value eq 'HASH';
    my $text = "$value";
    utf8::decode($text);
    return $text;
}

sub drawn {
    my ( $verb, @args ) = @_;
    return $real{$verb}->(@args) if $within;
    local $within = 1;
    my @got = $real{$verb}->(@args);
    open my $to, '>>', $ENV{RECORDED} or die "$ENV{RECORDED}: $!\n";
    print $to $json->encode( { call => text( [ $verb, @args ] ), got => text( \@got ), error => RRDs::error() // '' } ), "\n";
    close $to or die "$ENV{RECORDED}: $!\n";
    return wantarray ? @got : $got[0];
}

{
    no strict 'refs';
    no warnings 'redefine';
    *{'RRDs::create'} = sub (@) {
        push @created, [@_];
        return $real{create}->( @_, '--start', $ENV{RECORDED_START} );
    };
    *{'RRDs::fetch'} = sub (@) { return $real{fetch}->( moved(@_) ) };
    for my $verb (qw(graph graphv)) {
        *{"RRDs::$verb"} = sub (@) { return drawn( $verb, $within ? @_ : moved(@_) ) };
    }
}

# value is the reading of a data source.
sub value {
    my ( $kind, $minute, $which ) = @_;
    return 'U' if ( $minute + 7 * $which ) % 53 == 5;
    return int( $minute * 4000 * ( 1 + $which % 5 ) + 90000 * sin $minute / 90 ) if $kind ne 'GAUGE';
    return sprintf '%.3f', 45 + 40 * sin( $minute / 90 + $which );
}

# fill gives all that was created a value every few seconds, until the end of the graphs. The values are those of a
# function of the kind of a data source, how many values were before it, a number that differs between sources, and a name.
sub fill {
    my ( $seconds, $reading ) = @_;
    my $number = 0;
    for my $create (@created) {
        my ( $name, @args ) = @$create;
        my @sources = map { /^DS:([^:]+):(\w+)/ ? [ $1, $2 ] : () } @args;
        $number++;
        my @samples;
        for ( my $n = 1 ; ( my $at = $ENV{RECORDED_START} + $n * $seconds ) <= $ENV{RECORDED_END} ; $n++ ) {
            my @values = map { $reading->( $sources[$_][1], $n, $_ + $number, $sources[$_][0] ) } 0 .. $#sources;
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
