# Has a page of MRTG's series answer requests: mrtg-rrd.cgi and 14all.cgi, from their repositories.
use strict;
use warnings;
use Recorded;

BEGIN { $INC{'CGI/Carp.pm'} = 1 }    # errors are to end this
use CGI ();

my ($cgi) = @ARGV;
my ($kind) = $cgi =~ /(mrtg-rrd|14all)\.cgi$/ or die "$cgi: which page is that?\n";
open my $in, '<', $cgi or die "$cgi: $!\n";
my $program = do { local $/; <$in> };
close $in;
$program =~ s/defined \@\{(.*?\})\}/\@{$1 || []}/g;    # Perl has not had that since 5.22
$program =~ s/defined %\{(.*?\})\}/%{$1 || {}}/g;
$program =~ s{^\t\$base = '/var/tmp/mrtgimages/';.*$}{}m;

mkdir 'work' or die "$!\n";
my %targets = (
    plain => '',
    bits  => "Options[bits]: growright, bits\nYLegend[bits]: bits per second\nFactor[bits]: 2\nUnscaled[bits]: dwmy\n",
    peaks => "WithPeak[peaks]: wmy\nKilo[peaks]: 1024\nLegend1[peaks]: what came in\nLegendI[peaks]: came\nOptions[peaks]: nopercent, integer\n",
    alone => "Options[alone]: growright, noo, unknaszero, perminute\nMaxBytes1[alone]: 900000\nMaxBytes2[alone]: 300000\n",
    sized => "XSize[sized]: 600\nYSize[sized]: 200\nXZoom[sized]: 1.2\nYZoom[sized]: 1.2\nColours[sized]: ONE#112233,TWO#445566,THREE#778899,FOUR#aabbcc\nTimezone[sized]: Asia/Tokyo\n",
);
$targets{log}  = "14all*Logarithmic[log]: yes\n14all*GraphTotal[log]: yes\n14all*MaxRules[log]: yes\n" if $kind eq '14all';
$targets{band} = "RRDHWRRAs[band]: RRA:HWPREDICT:1440:0.1:0.0035:288:3\n"                                if $kind eq '14all';
my @names = sort keys %targets;
open my $to, '>', 'mrtg.cfg' or die "$!\n";
print $to "WorkDir: work\nImageDir: work\nIconDir: /icons/\nLogFormat: rrdtool\nInterval: 5\nRefresh: 300\n";
for my $name (@names) {
    print $to "Target[$name]: 1:public\@host\nMaxBytes[$name]: 1250000\nTitle[$name]: $name\nPageTop[$name]: <h1>$name</h1>\n$targets{$name}";
}
close $to or die "$!\n";

for my $name (@names) {
    my @rings = map { my $cf = $_; map {"RRA:$cf:0.5:$_"} qw(1:800 6:800 24:800 288:800) } qw(AVERAGE MAX);
    push @rings, 'RRA:HWPREDICT:1440:0.1:0.0035:288' if $name eq 'band';
    RRDs::create( "work/$name.rrd", '--step', 300, 'DS:ds0:COUNTER:600:0:1250000', 'DS:ds1:COUNTER:600:0:1250000', @rings );
    die RRDs::error() if RRDs::error();
}
Recorded::fill( 300, \&Recorded::value );
utime $ENV{RECORDED_END}, $ENV{RECORDED_END}, glob 'work/*.rrd';

my @requests;
if ( $kind eq 'mrtg-rrd' ) {
    $program =~ s/^BEGIN \{ \@config_files = .*$/BEGIN { \@config_files = qw(mrtg.cfg); }/m or die "$cgi begins otherwise\n";
    for my $name (@names) {
        push @requests, map { [ "/$name$_", '' ] } '.html', map {"-$_.png"} qw(day week month year);
    }
    push @requests, [ '/', '' ], [ '/nosuch.html', '' ];
}
else {
    for my $name (@names) {
        push @requests, map { [ '', "log=$name$_" ] } '', '&png=daily', '&png=weekly', '&png=monthly', '&png=yearly', '&png=daily.s&small=1', '&png=month.s&small=1';
    }
    push @requests, [ '', '' ], [ '', 'dir=' ], [ '', 'log=nosuch&png=daily' ];
}

$| = 1;
for my $request (@requests) {
    my ( $path, $query ) = @$request;
    print "\n== $path?$query\n";
    my $child = fork // die "$!\n";    # a page ends its process
    if ($child) { waitpid $child, 0; print "ended with $?\n"; next }
    @ENV{qw(REQUEST_METHOD PATH_INFO QUERY_STRING SCRIPT_NAME SERVER_NAME REQUEST_URI TZ)} = ( 'GET', $path, $query, "/$kind.cgi", 'host', "/$kind.cgi$path?$query", 'Europe/Berlin' );
    @ARGV = $kind eq '14all' ? 'mrtg.cfg' : ();
    srand 1;
    eval "no strict; no warnings; package main;\n#line 1 $kind\n$program; 1" or die $@;
    exit;
}
