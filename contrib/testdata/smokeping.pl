# Has Smokeping make series of what its configuration names, and shows its pages.
use strict;
use warnings;
use Recorded;

BEGIN { $INC{'LWP/UserAgent.pm'} = 1 }    # which slaves only need
use CGI;
use Cwd;
use Smokeping;

my ($template) = @ARGV;
my $dir = getcwd;
mkdir $_ for qw(data images run bin);
open my $ping, '>', 'bin/fping' or die "$!\n";
print $ping "#!/bin/sh\necho 'localhost : [0], 84 bytes, 0.05 ms (0.05 avg, 0% loss)'\n";
close $ping or die "$!\n";
chmod 0755, 'bin/fping';
open my $page, '>', 'page.html' or die "$!\n";
print $page "<h1><##title##></h1><##menu##><##overview##><##body##>\n";
close $page or die "$!\n";
open my $secrets, '>', 'secrets' or die "$!\n";
print $secrets "far:secret\n";
close $secrets or die "$!\n";
chmod 0600, 'secrets';
open my $from, '<', $template or die "$template: $!\n";
open my $to, '>', 'config' or die "$!\n";
while (<$from>) { s/DIR/$dir/g; print $to $_ }
close $to or die "$!\n";

# value is a round trip's time: more of each later ping, and some are lost.
sub value {
    my ( $kind, $n, $which, $name ) = @_;
    my $lost = $n % 97 < 9 ? $n % 7 : 0;
    return $lost if $name eq 'loss';
    return 'U' if $name eq 'uptime' || $n % 211 == 5;
    my $usual = 0.02 + 0.015 * sin $n / 60;
    return sprintf '%.6e', $usual * 1.5 if $name eq 'median';
    my ($ping) = $name =~ /(\d+)/;
    return $ping > 20 - $lost ? 'U' : sprintf '%.6e', $usual * ( 1 + $ping / 20 ) + 1e-4 * ( $n % 13 );
}

srand 1;
Smokeping::load_cfg('config');
Recorded::fill( 300, \&value );
$Smokeping::cgimode = 'yes';
for my $query (
    '', 'target=Local', 'target=Local.One', 'target=Local.Two', 'target=Local.Both', 'target=_charts', 'target=_charts.max',
    'target=Local.One;displaymode=n;start=2023-11-10 12:00;end=now',
    'target=Local.One~far;displaymode=n;start=2023-11-15 02:00;end=2023-11-15 20:00',
    'target=Local.Both;displaymode=n;start=1700000000;end=1700090000',
    'target=Local.One;displaymode=a;start=1700000000;end=1700090000',
    )
{
    print "\n== $query\n";
    Smokeping::cgi( 'config', CGI->new($query) );
}
