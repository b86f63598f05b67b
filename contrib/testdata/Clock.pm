# A clock that stands where CLOCK says.
package Clock;

BEGIN {
    *CORE::GLOBAL::time = sub { $ENV{CLOCK} };
}

1;
