//go:build off

package off

import (
	"os"
	"sync"
)

// named is the content of OFF at the first question. It does not change later,
// so one run has one set of rules.
var named = sync.OnceValue(func() string { return os.Getenv("OFF") })

// Rule reports whether the environment variable OFF named this rule when the
// process first asked. The empty name is no rule.
func Rule(name string) bool { return name != "" && name == named() }
