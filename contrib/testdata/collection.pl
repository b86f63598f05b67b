# Has collectd's collection.cgi draw every type of series that it knows, or every so many.
use strict;
use warnings;
use Recorded;

BEGIN { $INC{'CGI/Carp.pm'} = 1 }    # errors are to end this
use CGI ();

my ( $cgi, $every ) = @ARGV;
open my $in, '<', $cgi or die "$cgi: $!\n";
my $program = do { local $/; <$in> };
$program =~ s/^exit \(main \(\)\);$//m or die "$cgi begins otherwise\n";
$program =~ s/^our \$Config = .*$/our \$Config = 'collection.conf';/m;
eval "no strict; package main; $program; 1" or die $@;
open my $conf, '>', 'collection.conf' or die "$!\n";
print $conf qq(DataDir: "data"\n);
close $conf or die "$!\n";

# make makes a series as collectd's plugin rrdtool does.
sub make {
    my ( $plugin, $type, @sources ) = @_;
    mkdir $_ for 'data', 'data/host', "data/host/$plugin";
    my @rings = map { ( "RRA:AVERAGE:0.1:$_", "RRA:MIN:0.1:$_", "RRA:MAX:0.1:$_" ) } qw(1:400 4:300 30:300);
    RRDs::create( "data/host/$plugin/$type.rrd", '--step', 300, ( map {"DS:$_:GAUGE:600:U:U"} @sources ), @rings );
    die RRDs::error() if RRDs::error();
    return;
}

our ( $GraphDefs, $MetaGraphDefs, $Args, @DataDirs );
my @types = grep { !$MetaGraphDefs->{$_} } sort keys %$GraphDefs;
@types = @types[ grep { $_ % $every == 0 } 0 .. $#types ];
for my $type (@types) {
    my %sources = map { /^DEF:[^=]+=\{file\}:([^:]+):/ ? ( $1 => 1 ) : () } @{ $GraphDefs->{$type} };
    make( 'plain', $type, sort keys %sources );
}
my %parts = (
    cpu => [qw(idle nice user wait system)], memory => [qw(buffered cached free used)], swap => [qw(cached free used)],
    df_complex => [qw(free reserved used)], ps_state => [qw(blocked running sleeping)], tcp_connections => [qw(ESTABLISHED LISTEN)],
    vmpage_number => [qw(dirty mapped)], mysql_commands => [qw(select insert)], nfs_procedure => [qw(read write)], dns_qtype => [qw(A AAAA)],
);
for my $type ( sort keys %parts ) {
    make( 'parts', "$type-$_", 'value' ) for @{ $parts{$type} };
}
Recorded::fill( 300, \&Recorded::value );

$| = 1;
for my $graph ( map( { [ plain => $_ ] } @types ), map { [ parts => $_ ] } sort keys %parts ) {
    my ( $plugin, $type ) = @$graph;
    for my $span ( $plugin eq 'parts' ? qw(day month) : 'day' ) {
        print "\n== $plugin/$type $span\n";
        my $request = fork // die "$!\n";    # the pictures of librrd come when a process ends
        if ($request) { waitpid $request, 0; die "$type: $?\n" if $?; next }
        %$Args = ( action => 'show_graph', host => 'host', plugin => $plugin, type => $type, timespan => $span );
        CGI::param( $_, $Args->{$_} ) for keys %$Args;
        @DataDirs = ();
        srand 1;
        exit main();
    }
}
