// Package rpc is the Connect edge of the server. Handlers translate and do
// nothing else: a wire message becomes a command of package app, and the
// result a wire message. What every call has in common stands around them as
// interceptors, outermost first:
//
//	log        one line a call, without content
//	recover    a panic is an internal error without text
//	refuse     errors become a code and one beckon.v1.ErrorInfo (errors.go)
//	deadline   no call lasts for ever
//	auth       credential → principal, before the body is read
//	authorise  the principal's kind against the authorisation table
//	rate       a bucket for each principal and each anonymous source
//	validate   the rules of the contract
//	ctx        a bare context error gets its code
//
// A procedure without a row in the table stops the server at start.
package rpc
