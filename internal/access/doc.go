// Package access says who sends a request, and what that sender may do.
//
// A [User] has a role and, if it is limited, folders: it reaches the series at and below them and
// no others. [With] puts a user into the context of a request, and [From] returns it. A context
// without a user is the program's own: it may do everything.
//
// A [View] is a store as the user of a context sees it. What lies outside the user's folders is
// neither named nor read nor written through it.
package access
