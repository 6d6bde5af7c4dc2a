package plan

// Documented has a comment.
func Documented() {}
