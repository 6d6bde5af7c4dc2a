// Package failpoint lets a test kill the process at a named line, as a crash
// or a power cut would: with SIGKILL, so that nothing deferred runs. A normal
// build has none of it: [Hit] is empty there and the compiler removes the call.
//
// Built with the tag "failpoints", the environment says where to die:
//
//	BECKON_FAILPOINT=name[:n]    die at the nth time that Hit(name) is reached
//	BECKON_FAILPOINT_MARK=file   create this file just before, as proof
package failpoint
