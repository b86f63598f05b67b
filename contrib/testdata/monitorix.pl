# Has the modules of Monitorix, in the folder that is given, make and draw their series, as its daemon and its page do.
use strict;
use warnings;
use Recorded;

my ( $modules, $settings, @names ) = @ARGV;
push @INC, $modules;

# What the modules call of the page around their graphs.
sub graph_header { return '' }
sub graph_footer { return '' }

# settings reads Monitorix's configuration: KEY = VALUE, and sections that may lie in each other.
sub settings {
    my ($file) = @_;
    my @open = ( {} );
    open my $in, '<', $file or die "$file: $!\n";
    while (<$in>) {
        s/^\s+|\s+$//g;
        if    (m{^</}) { pop @open }
        elsif (/^<(\S+)>$/) { push @open, $open[-1]{$1} //= {} }
        elsif (/^([^#=\s][^=]*?)\s*=\s*(.*)$/) { $open[-1]{$1} = $2 }
    }
    return $open[0];
}

my %config = %{ settings($settings) };
@config{qw(os kernel base_lib base_dir imgs_dir hostname url)} = ( 'Linux', '5.10', 'lib/', 'www/', 'imgs/', 'host', '' );
my %theme = %{ $config{theme}{black} // {} };
my %colors = ( map( { $_ => '#000000' } qw(bg_color fg_color title_bg_color title_fg_color graph_bg_color) ), gap => '404040', warning_color => '--color=CANVAS#880000' );
$colors{graph_colors} = [ map {"--color=\U$_\E#$theme{$_}"} grep { exists $theme{$_} } qw(canvas back font mgrid grid frame arrow shadea shadeb axis) ];
my %day = ( nwhen => 1, twhen => 'day', when => '1day', tc => 'h', tb => 24, ts => 1, res => 3600 );

mkdir $_ for qw(lib www www/imgs);
open my $said, '>&', \*STDOUT or die $!;
open STDOUT, '>', 'said' or die $!;    # logs and pages
my @able;
for my $name (@names) {
    no strict 'refs';
    local $SIG{__WARN__} = sub { };
    eval { require "$name.pm"; &{"${name}::${name}_init"}( $name, \%config, 0 ); 1 } or next;
    push @able, $name;
}
{
    no warnings qw(redefine once);
    *system::uptime2str = sub { return '1h 02m' };    # how long the machine is up differs from run to run
}
Recorded::fill( 60, \&Recorded::value );
for my $name (@able) {
    no strict 'refs';
    local $SIG{__WARN__} = sub { };
    eval {
        &{"${name}::${name}_cgi"}( $name, \%config, { colors => \%colors, graph => 'all', silent => '', val => 'all', tf => \%day, version => '' } );
        1;
    } or print $said "$name: $@";
}
