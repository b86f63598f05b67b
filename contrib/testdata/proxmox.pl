# Has Proxmox VE's PVE::RRD, from its repository, read and draw series as its status daemon makes them.
use strict;
use warnings;
use Recorded;

BEGIN { # what the module uses of the rest of Proxmox
    $INC{'PVE/Tools.pm'} = 1;
    *PVE::Tools::split_list = sub { return split /[,;\s]+/, $_[0] };
}

my ($repository) = @ARGV;
open my $in, '<', "$repository/src/PVE/RRD.pm" or die "$!\n";
my $program = do { local $/; <$in> };
close $in;
$program =~ s{/var/lib/rrdcached/db}{data}g;
$program =~ s{/var/run/rrdcached\.sock}{no.sock}g;
eval "#line 1 RRD.pm\n$program; 1" or die $@;

my %folders = (
    'pve2-node/one'        => [qw(loadavg maxcpu cpu iowait memtotal memused swaptotal swapused roottotal rootused netin netout)],
    'pve2-vm/100'          => [qw(maxcpu cpu maxmem mem maxdisk disk netin netout diskread diskwrite)],
    'pve2-storage/one/nfs' => [qw(total used)],
    'pve-node-9.0/two'     => [qw(loadavg maxcpu cpu iowait memtotal memused swaptotal swapused roottotal rootused netin netout memavailable arcsize pressurecpusome pressureiosome pressureiofull pressurememorysome pressurememoryfull)],
);
mkdir $_ for qw(data data/pve2-node data/pve2-vm data/pve2-storage data/pve2-storage/one data/pve-node-9.0);
for my $name ( sort keys %folders ) {
    my @rings = map { my $cf = $_; map {"RRA:$cf:0.5:$_"} qw(1:70 30:70 180:70 720:70 10080:70) } qw(AVERAGE MAX);
    RRDs::create( "data/$name", '--step', 60, ( map { 'DS:' . $_ . ( /^(?:net|disk(?:read|write))/ ? ':DERIVE' : ':GAUGE' ) . ':120:0:U' } @{ $folders{$name} } ), @rings );
    die RRDs::error() if RRDs::error();
}
Recorded::fill( 60, \&Recorded::value );

my $text = sub {
    my ($row) = @_;
    return join ' ', map { "$_=" . ( $row->{$_} // 'undef' ) } sort keys %$row;
};
for my $name ( sort keys %folders ) {
    for my $span (qw(hour day week month year)) {
        for my $cf (qw(AVERAGE MAX)) {
            my $rows = eval { PVE::RRD::create_rrd_data( $name, $span, $cf ) };
            print "$name $span $cf", defined $rows ? '' : " $@", "\n", map( { '  ' . $text->($_) . "\n" } @{ $rows // [] } );
        }
        for my $sources ( @{ $folders{$name} }[ 0, 2 ], join ',', @{ $folders{$name} }[ 0, 1 ] ) {
            my $got = eval { PVE::RRD::create_rrd_graph( $name, $span, $sources, 'AVERAGE' ) };
            print "$name $span $sources: ", defined $got ? join( ' ', map { "$_=" . length $got->{$_} } grep { $_ ne 'image' } sort keys %$got ) : $@, "\n";
        }
    }
}
