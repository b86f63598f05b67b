# Has Munin's master, of the folder that is given, make series as munin-update does and draw them as munin-graph does.
use strict;
use warnings;
use Recorded;
use Storable;

my ($services) = @ARGV;
require Munin::Master::GraphOld;
require Munin::Master::UpdateWorker;
require Munin::Master::Utils;

mkdir $_ for qw(db log run www);
open my $conf, '>', 'munin.conf' or die "$!\n";
print $conf "dbdir db\nlogdir log\nrundir run\nhtmldir www\ntmpldir templates\n\n[host.test]\naddress 127.0.0.1\n";
close $conf or die "$!\n";

# What plugins say of their services: a line SERVICE, and a line KEY VALUE each.
my ( %sources, $service, $said );
open my $in, '<', $services or die "$services: $!\n";
while (<$in>) {
    chomp;
    next if !/\S/;
    if (/^(\S+)$/) { $service = $1; next }
    my ( $key, $value ) = split ' ', $_, 2;
    $said .= "test;host.test:$service.$key $value\n";
    $sources{$service}{$1}{$2} = $value if $key =~ /^([^.]+)\.(.+)$/;
}
open my $data, '>', 'datafile' or die "$!\n";
print $data "version 2.0.73\n$said";
close $data or die "$!\n";
my $config = Munin::Master::Utils::munin_readconfig_base('munin.conf');
Storable::nstore( Munin::Master::Utils::munin_readconfig_raw('datafile'), 'db/datafile.storable' );

my $worker = bless {}, 'Munin::Master::UpdateWorker';
for my $service ( sort keys %sources ) {
    for my $source ( sort keys %{ $sources{$service} } ) {
        my $of = $sources{$service}{$source};
        next if defined $of->{sum} || defined $of->{stack};
        my $full = $worker->_get_rrd_data_source_with_defaults( { graph_data_size => 'normal', update_rate => 300, %$of } );
        my $file = sprintf 'db/test/host.test-%s-%s-%s.rrd', $service, $source, lc substr $full->{type}, 0, 1;
        $worker->_create_rrd_file( $file, $service, $source, { %$full, graph_data_size => 'normal', update_rate => 300 }, time );
    }
}
Recorded::fill( 300, \&Recorded::value );

Munin::Master::Logger::logger_open('log');
my @how = qw(--config munin.conf --force-run-as-root --no-fork --no-lazy --skip-locking --skip-stats --list-images);
Munin::Master::GraphOld::graph_startup( \@how );
Munin::Master::GraphOld::graph_main( [qw(--host host.test --day --week --month --year --sumweek --sumyear)] );
