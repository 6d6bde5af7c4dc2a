// Package policy says who may do what, as pure functions: which principals may
// call a procedure, how strongly a person has to be present for an answer, and
// what the working limits are.
package policy
