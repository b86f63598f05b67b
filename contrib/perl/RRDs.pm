# RRDs: rrdtool's Perl interface over rondo, without librrd.
#
# Copyright The rondo authors. Licensed under the Apache License, Version 2.0: see LICENSE.
#
# Programs that `use RRDs` run with it as they are: put the folder of this file into PERL5LIB, or in
# front with `perl -I`. docs/clients.md says what it does and what differs from librrd's module.
#
# Environment: RONDO is the program (rondo in the PATH), RONDO_DB the database's folder (else what
# the configuration file says), RONDO_DAEMON a server elsewhere, RRDCACHED_ADDRESS as in rrdtool.
# With RONDO_FILES=0 no files are made where a program looks for them.
package RRDs;

use strict;
use warnings;

use Cwd   ();
use Errno ();
use IO::Handle ();
use POSIX ();

our $VERSION = '1.7002';    # of the interface
our $RONDO;                 # the program, before the environment

my $error;                  # of the last call
my $session;                # the rondo that is being talked to
my $database;               # the folder in full

# Verbs that may be asked again when there is no answer.
my %reads = map { $_ => 1 } qw(fetch xport info first last lastupdate list times graph graphv);

my $longest = ( 1 << 20 ) - 1;    # of a command
my $note =    # query/rrd/transfer.Note
    "The series of this name is kept by rondo. This file is here for programs that look whether there is one.\n"
    . "rondo info NAME prints the series, rondo rename and rondo drop move and delete it,\n"
    . "rondo export writes it as a file of rrdtool.\n";

sub error { return $error }

# What the functions are called is Perl's too: they are put into the package by hand.
{
    no strict 'refs';
    for my $verb (qw(update tune resize flushcached)) {
        *{"RRDs::$verb"} = sub (@) { return defined _run( $verb, @_ ) ? 1 : undef };
    }
    for my $verb (qw(first last)) {
        *{"RRDs::$verb"} = sub (@) {
            my $out = _run( $verb, @_ );
            return defined $out ? 0 + $out : undef;
        };
    }
    for my $verb (qw(info updatev)) {
        *{"RRDs::$verb"} = sub (@) {
            my $out = _run( $verb, @_ );
            return defined $out ? _pairs($out) : undef;
        };
    }
    *{'RRDs::dump'} = sub (@) { return _alone( 'dump', @_ ) };
    *{'RRDs::times'}   = \&_times;
    *{'RRDs::list'}    = \&_list;
}

# create is rrdtool's. Programs create what they do not see: a series of the same definition that is
# there without a file of its name is kept.
sub create (@) {
    local ( $!, $? );
    my $name = _name(@_);
    my @keep = _files() && !-e $name ? 'keep' : ();
    return undef if !defined _run( @keep, 'create', @_ );
    _show($name);
    return 1;
}

sub restore (@) {
    _alone( 'restore', @_ ) or return undef;
    _show( $_[-1] );
    return 1;
}

# fetch returns the time of the first row, the step, the names and the rows.
sub fetch (@) {
    my $out = _run( 'fetch', @_ );
    return undef if !defined $out;
    my ( $head, @lines ) = split /\n/, $out;
    my ( $start, $step, @names ) = split / /, $head;
    return ( $start + $step, 0 + $step, \@names, [ map { _row($_) } @lines ] );
}

# xport returns start, end, step, the number of columns, their legends and the rows.
sub xport (@) {
    my $out = _run( 'xport', @_ );
    return undef if !defined $out;
    $out =~ s/^(\d+) (\d+) (\d+) (\d+)\n// or return _fail('rondo gave no columns');
    my ( $start, $end, $step, $columns ) = ( $1, $2, $3, $4 );
    my ( @legends, $at );
    $at = 0;
    for ( 1 .. $columns ) {
        my $size = index( $out, "\n", $at );
        my $length = substr $out, $at, $size - $at;
        push @legends, substr $out, $size + 1, $length;
        $at = $size + 1 + $length + 1;
    }
    my @rows = map { _row($_) } split /\n/, substr $out, $at;
    return ( $start + $step, 0 + $end, 0 + $step, 0 + $columns, \@legends, \@rows );
}

# lastupdate returns the time, the names and the readings. librrd's module has none.
sub lastupdate (@) {
    my $out = _run( 'lastupdate', @_ );
    return undef if !defined $out;
    my ( $time, @lines ) = split /\n/, $out;
    my @pairs = map { [ split / /, $_, 2 ] } @lines;
    return ( 0 + $time, [ map { $_->[0] } @pairs ], [ map { $_->[1] } @pairs ] );
}

# graph returns what is printed, and the width and the height of the picture. A picture that is
# called - goes to standard output.
sub graph (@) {
    my $found = graphv(@_) or return undef;
    _print( delete $found->{image} );
    my @prints = defined $found->{image_info} ? $found->{image_info} : ();
    push @prints, $found->{ 'print[' . $_ . ']' } for 0 .. ( grep {/^print/} keys %$found ) - 1;
    return ( \@prints, $found->{image_width} // 0, $found->{image_height} // 0 );
}

# graphv returns everything that is to be said of the picture, and the picture if it is called -.
sub graphv (@) {
    my $out = _run( 'graphv', @_ );
    return undef if !defined $out;
    my %blobs;
    if ( $out =~ /^(?:image|datapoints) = BLOB_SIZE:\d+\n/m ) {
        my $rest = substr $out, $-[0];
        $out = substr $out, 0, $-[0];
        while ( $rest =~ s/^(\w+) = BLOB_SIZE:(\d+)\n// ) {
            my ( $name, $size ) = ( $1, $2 );
            $blobs{$name} = substr $rest, 0, $size, '';
        }
    }
    my $found = _pairs($out);
    %$found = ( %$found, %blobs );
    for ( grep {/^(?:graph_(?:left|top)|image_)/} keys %$found ) {
        $found->{$_} = unpack 'q', pack 'Q', $found->{$_} if $found->{$_} =~ /^\d+\z/;
    }
    return $found;
}

# _print writes bytes to standard output, behind what the program has printed there.
sub _print {
    my ($bytes) = @_;
    return if !defined $bytes;
    STDOUT->flush;
    while ( length $bytes ) {
        my $n = POSIX::write( 1, $bytes, length $bytes );
        if ( defined $n ) { substr $bytes, 0, $n, '' }
        elsif ( !$!{EINTR} ) { return }
    }
    return;
}

sub fetch_cb_register { return _fail('rondo does not fetch from callbacks') }
sub register_fetch_cb { return _fail('rondo does not fetch from callbacks') }

sub _times {
    return _fail('Usage: RRDs::times(start, end)') if @_ != 2;
    my $out = _run( 'times', @_ );
    return undef if !defined $out;
    return map { 0 + $_ } split ' ', $out;
}

sub _list (@) {
    my ( $out, $remark ) = _run( 'list', @_ );
    return undef if !defined $out;
    return _fail($remark) if $remark ne '' && $remark ne 'Success';
    return [ split /\n/, $out ];
}

# Reading what rondo prints.

my $minus_zero = unpack 'd', pack 'd', -1e-200 * 1e-200;    # which a text does not become

sub _value { return ${ _row( $_[0] ) }[0] }

# _row makes numbers of a line of them. Perl would make an integer of 1e+18, which prints otherwise.
sub _row {
    my $large = index( $_[0], 'e+' ) >= 0;
    return [
        map { $_ eq 'nan' ? undef : $_ eq '-0' ? $minus_zero : $large ? unpack 'd', pack 'd', $_ : 0 + $_ }
            split / /, $_[0]
    ];
}

# _plain takes the backslashes out of a text.
sub _plain {
    my ($text) = @_;
    $text =~ s/\\(.)/$1 eq 'n' ? "\n" : $1/ge;
    return $text;
}

# _pairs makes a hash of the lines KEY = VALUE.
sub _pairs {
    my %h;
    for ( split /\n/, $_[0] ) {
        my ( $key, $value ) = /^(.*?) = (.*)$/ or next;
        $h{$key} = $value =~ /^"/ ? _plain( substr $value, 1, -1 ) : _value($value);
    }
    return \%h;
}

sub _fail {
    $error = $_[0];
    return undef;
}

# Files that stand for series.

sub _files { return ( $ENV{RONDO_FILES} // '' ) ne '0' }

# _name returns the name of the series in the arguments of create.
sub _name {
    while (@_) {
        my $arg = shift;
        if ( $arg eq '--' ) { return shift // '' }
        if ( $arg =~ /^(?:-[bstrd]|--(?:start|step|template|source|daemon))$/ ) { shift; next }
        return $arg if $arg !~ /^-./;
    }
    return '';
}

# _show puts a file where a program looks for that of a series, unless there is one, or no folder
# for it.
sub _show {
    my ($name) = @_;
    return if !_files() || $name eq '';
    local $!;
    sysopen my $file, $name, POSIX::O_WRONLY() | POSIX::O_CREAT() | POSIX::O_EXCL(), 0666 or return;
    syswrite $file, $note;
    close $file;
    return;
}

# Talking to rondo.

# _run runs a command in the session. It returns what is printed, and what is remarked; undef if
# there is an error.
sub _run {
    my $line = join( ' ', map { _quoted($_) } @_ ) . "\n";
    return _fail( "the command is longer than $longest bytes" ) if length $line > $longest;
    local ( $!, $? );
    local $SIG{PIPE} = 'IGNORE';
    my ( $why, $again ) = ( '', 0 );
    for my $try ( 1 .. 5 ) {
        $session = _begin() if !_alive();
        return undef if !$session;
        $session->{busy} = 1;    # unless a signal's handler dies before it is done
        _send( $session, $line );
        my ( $tag, $out, $remark, $message ) = _answer($session);
        $session->{busy} = 0;
        if ( $tag eq 'done' ) {
            undef $error;
            return wantarray ? ( $out, $remark ) : $out;
        }
        return _fail($message) if $tag eq 'error';
        undef $session;
        $why = $message if $tag ne 'bye';
        return _fail($why) if $why && !( $reads{ $_[0] } && $again++ < 1 );
    }
    return _fail('rondo ends again and again before it is asked');
}

sub _quoted {
    my $word = shift // '';
    utf8::encode($word) if utf8::is_utf8($word);
    $word =~ s/([\\"])/\\$1/g;
    $word =~ s/\n/\\n/g;
    return qq("$word");
}

# _key is what a session depends on beside its commands.
sub _key {
    return join "\0", $$, $RONDO // '', Cwd::getcwd() // '',
        map { $ENV{$_} // '' } qw(RONDO RONDO_DB RONDO_BASE RONDO_SYNC RONDO_DAEMON RRDCACHED_ADDRESS TZ LC_ALL LC_TIME LC_NUMERIC LANG PATH);
}

# _alive says whether the session can be asked. What a forked process inherited is closed.
sub _alive {
    return 0 if !$session;
    if ( !$session->{busy} && $session->{key} eq _key() ) {
        my $bits = '';
        vec( $bits, fileno $session->{from}, 1 ) = 1;
        return 1 if !select $bits, undef, undef, 0;    # what it says unasked is that it ends
    }
    undef $session;
    return 0;
}

sub _begin {
    pipe( my $in, my $to ) && pipe( my $from, my $out ) or return _fail("cannot make a pipe: $!");
    _spawn( $in, $out, $out, 'pipe' ) or return undef;
    binmode $_ for $to, $from;
    return { key => _key(), pid => $$, to => $to, from => $from, buffer => '' };
}

# _program is the command line that all commands begin with.
sub _program {
    my $named = $ENV{RONDO_DB};
    if ( defined $named && $named ne '' ) {
        $database = Cwd::getcwd() . "/$named" if $named !~ m{^/};
        $database = $named if $named =~ m{^/};
    }
    return ( $RONDO // ( $ENV{RONDO} || 'rondo' ), defined $database ? ( '--db', $database ) : () );
}

# _spawn begins a rondo with the three files, undef being this process's own. It is no child of this
# process, which may wait for its own children.
sub _spawn {
    my ( $in, $out, $err, @args ) = @_;
    my @command = ( _program(), @args );
    local $SIG{CHLD} = 'DEFAULT' if ( $SIG{CHLD} // '' ) eq 'IGNORE';
    my $pid = fork;
    return _fail("cannot fork: $!") if !defined $pid;
    if ($pid) {
        1 while waitpid( $pid, 0 ) < 0 && $!{EINTR};
        return 1;
    }
    delete @SIG{qw(__DIE__ __WARN__)};
    $SIG{$_} = 'DEFAULT' for grep { ref $SIG{$_} || $_ eq 'PIPE' } keys %SIG;
    my $child = fork;
    POSIX::_exit(0) if $child;
    setpgrp 0, 0;    # a terminal's signals are not for it
    my @files = map { _above($_) } $in, $out, $err;
    for my $fd ( 0 .. 2 ) {
        POSIX::dup2( $files[$fd], $fd ) if defined $files[$fd];
    }
    my $why = $!;
    if ( defined $child ) {
        no warnings 'exec';
        eval { exec { $command[0] } @command };    # which dies under -T, if the environment is not clean
        $why = $@ || $!;
    }
    $why = "ERROR: cannot run $command[0]: $why\n";
    POSIX::write( 2, $why, length $why );
    POSIX::_exit(127);
}

# _above returns a descriptor of a file that is not one of the first three.
sub _above {
    my ($file) = @_;
    return undef if !defined $file;
    my $fd = fileno $file;
    $fd = POSIX::dup($fd) while defined $fd && $fd < 3;
    return $fd;
}

sub _send {
    my ( $s, $text ) = @_;
    while ( length $text ) {
        my $n = syswrite $s->{to}, $text;
        if ( defined $n ) { substr $text, 0, $n, '' }
        elsif ( !$!{EINTR} ) { return }    # what it has said before it ended is read
    }
    return;
}

# _answer reads an answer: its last tag, what was printed, what was remarked, and a message.
sub _answer {
    my ($s) = @_;
    my %text = ( out => '', err => '' );
    while (1) {
        my $end;
        while ( ( $end = index $s->{buffer}, "\n" ) < 0 ) {
            _more($s) or return ( '', '', '', _end( $s->{buffer} ) );
        }
        my ( $tag, $size ) = substr( $s->{buffer}, 0, $end ) =~ /^(out|err|done|error|bye) (\d+)$/;
        if ( !defined $tag ) {
            1 while _more($s);
            return ( '', '', '', _end( $s->{buffer} ) );
        }
        substr $s->{buffer}, 0, $end + 1, '';
        while ( length $s->{buffer} < $size ) {
            _more($s) or return ( '', '', '', _end('') );
        }
        my $text = substr $s->{buffer}, 0, $size, '';
        return ( $tag, $text{out}, $text{err}, $text ) if $tag !~ /^(?:out|err)$/;
        $text{$tag} .= $text;
    }
}

# _more reads on; it returns 0 at the end.
sub _more {
    my ($s) = @_;
    while (1) {
        my $n = sysread $s->{from}, $s->{buffer}, 1 << 18, length $s->{buffer};
        return $n if defined $n;
        return 0 if !$!{EINTR};
    }
}

# _end says why there is no answer.
sub _end {
    my ($said) = @_;
    $said =~ s/^ERROR: //;
    $said =~ s/\s+$//;
    return $said ne '' ? "rondo: $said" : 'rondo ended before it had answered';
}

# _alone runs a command that is about files in a process of its own, with this one's files.
sub _alone {
    return _run(@_) if @_ == 1;    # what is missing
    my @args = map { $_ // '' } @_;
    utf8::is_utf8($_) && utf8::encode($_) for @args;
    local ( $!, $? );
    local $SIG{PIPE} = 'IGNORE';
    if ( _alive() ) {    # it may hold the database
        _send( $session, "quit\n" );
        1 while _more($session);
    }
    undef $session;
    pipe( my $from, my $err ) or return _fail("cannot make a pipe: $!");
    _spawn( undef, undef, $err, 'rrdtool', @args ) or return undef;
    close $err;
    my $s = { from => $from, buffer => '' };
    1 while _more($s);
    if ( $s->{buffer} =~ /^ERROR: (.*?)\s*\z/ms ) {
        return _fail($1);
    }
    undef $error;
    return 1;
}

END {
    if ( $session && $session->{pid} == $$ && !$session->{busy} ) {
        local ( $!, $? );
        local $SIG{PIPE} = 'IGNORE';
        _send( $session, "quit\n" );
        1 while _more($session);    # what comes after this process finds the database free
    }
}

1;
