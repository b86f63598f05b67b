# What a program may do to RRDs: each step dies with what is wrong. The arguments are a program that is rondo and writes its process
# id into the file pid, one that never answers, and how long a session lasts that is not used: "short", or "long" where there is a server.
use strict;
use warnings;
use RRDs;

my ( $program, $silent, $lasts ) = @ARGV;
$RRDs::RONDO = $program;
alarm 300;

sub ok {
    my $error = RRDs::error();
    die "$_[0]: $error\n" if defined $error;
}

sub fails {
    my ( $what, $want ) = @_;
    my $error = RRDs::error() // 'no error';
    die "$what: $error\n" if $error !~ $want;
}

# ended waits until a process is gone, or is only waited for.
sub ended {
    while ( open my $file, '<', "/proc/$_[0]/stat" ) {
        my $stat = <$file> // '';
        return if $stat =~ /\) [ZX] /;
        select undef, undef, undef, 0.01;
    }
}

# Whatever the caller has set.
{
    local ( $,, $\, $", $/, $; ) = ( 'a', 'b', 'c', undef, 'e' );
    local $SIG{PIPE} = sub { die "SIGPIPE\n" };
    local $SIG{__DIE__} = sub { print STDERR "a handler was told: @_"; POSIX::_exit(1) };
    local $! = 5;
    local $? = 7;
    RRDs::create( 'x', '--start', 1_000_000_000, 'DS:v:GAUGE:600:U:U', 'RRA:AVERAGE:0.5:1:10' );
    ok('create');
    die "errno is $!\n" if $! != 5 || $? != 7;
}
die "no file stands for the series\n" if !-s 'x';

# A series is kept when its file is lost, and replaced when it is not.
unlink 'x';
RRDs::update( 'x', '1000000300:1' );
ok('update');
RRDs::create( 'x', '--start', 1_000_000_000, 'DS:v:GAUGE:600:U:U', 'RRA:AVERAGE:0.5:1:10' );
ok('create of what is there');
die "the series was replaced\n" if RRDs::last('x') != 1_000_000_300;
RRDs::create( 'x', '--no-overwrite', '--start', 1_000_000_000, 'DS:v:GAUGE:600:U:U', 'RRA:AVERAGE:0.5:1:10' );
fails( '--no-overwrite', qr/^creating 'x': File exists$/ );
RRDs::create( 'x', '--start', 1_000_000_000, 'DS:v:GAUGE:600:U:U', 'RRA:AVERAGE:0.5:1:10' );
die "the series was not replaced\n" if RRDs::last('x') != 1_000_000_000;
RRDs::update( 'x', '1000000300:1' );
unlink 'x';
RRDs::create( 'x', '--start', 1_000_000_000, 'DS:v:GAUGE:600:U:U', 'RRA:AVERAGE:0.5:1:20' );
die "a series of another definition was kept\n" if RRDs::last('x') != 1_000_000_000;

# A text of Perl's own encoding, and one of bytes, are the same name.
RRDs::create( "caf\x{e9}\x{263a}", 'DS:v:GAUGE:600:U:U', 'RRA:AVERAGE:0.5:1:10' );
ok('wide characters');
my $bytes = "caf\x{e9}\x{263a}";
utf8::encode($bytes);
RRDs::last($bytes);
ok('bytes');

# Forked processes have sessions of their own, and no child is left that was not asked for.
my @children;
for my $n ( 1 .. 3 ) {
    my $pid = fork // die "fork: $!\n";
    if ( !$pid ) {
        RRDs::create( "child$n", '--start', 1_000_000_000, 'DS:v:GAUGE:600:U:U', 'RRA:AVERAGE:0.5:1:10' );
        RRDs::update( "child$n", '1000000300:1' );
        ok("child $n");
        exit 0;
    }
    push @children, $pid;
}
RRDs::last('x');
ok('beside children');
for (@children) {
    my $pid = wait;
    die "process $pid exited with $?\n" if $? || !grep { $_ == $pid } @children;
}
die "there is one more child\n" if wait != -1;
die "child $_ wrote nothing\n" for grep { RRDs::last("child$_") != 1_000_000_300 } 1 .. 3;
{
    local $SIG{CHLD} = 'IGNORE';
    RRDs::dump( 'x', 'x.xml' );
    ok('dump with SIGCHLD ignored');
    die "no x.xml\n" if !-s 'x.xml';
}

# The session is killed between two calls, or ends because nobody asks: nobody is told.
$ENV{TZ} = 'UTC';    # a new session
RRDs::last('x');
ok('before the kill');
open my $file, '<', 'pid' or die "pid: $!\n";
chomp( my $pid = <$file> );
kill 'KILL', $pid or die "kill: $!\n";
ended($pid);
RRDs::last('x');
ok('after the kill');
if ( $lasts eq 'short' ) {
    open $file, '<', 'pid' or die "pid: $!\n";
    chomp( $pid = <$file> );
    ended($pid);
    RRDs::last('x');
    ok('after a silence');
}

# What a handler interrupts is not taken for the answer of the next.
{
    local $RRDs::RONDO = $silent;
    local $SIG{ALRM} = sub { die "interrupted\n" };
    eval { alarm 1; RRDs::last('x'); 1 } and die "there was an answer\n";
    die $@ if $@ ne "interrupted\n";
    alarm 300;
}
die "last is wrong\n" if RRDs::last('x') != 1_000_000_000;
ok('after the interruption');

# No rondo.
{
    local $RRDs::RONDO = '/nowhere/rondo';
    RRDs::last('x');
    fails( 'without a program', qr{^rondo: cannot run /nowhere/rondo: No such file or directory$} );
    local $RRDs::RONDO = 'false';
    RRDs::last('x');
    fails( 'with another program', qr/^rondo ended before it had answered$/ );
}

# A program that distrusts its environment gets an error, once.
open my $distrust, '-|', $^X, '-T', '-I', $ENV{PERL5LIB}, '-e', '
    use RRDs;
    $SIG{__DIE__} = sub { print "told: @_" };
    eval { RRDs::last("x") };
    print RRDs::error(), "\n";
' or die "perl -T: $!\n";
my $told = join '', <$distrust>;
die "perl -T: $told" if $told !~ /^rondo: cannot run \S+: Insecure [^\n]+\n\z/;

RRDs::update( 'x', '1000000600:' . '1' x ( 1 << 20 ) );
fails( 'a long command', qr/^the command is longer than/ );
RRDs::list();
fails( 'list of nothing', qr/^Usage: rrdtool list / );
RRDs::last('x');
ok('at last');
print "as it should be\n";
exit 3;
