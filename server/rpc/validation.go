package rpc

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/reflect/protoreflect"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// newValidator compiles the rules of every request the server takes, so that
// the first caller does not pay for it and a message without rules compiled is
// found at start.
func newValidator(specs iter.Seq[connect.Spec]) (protovalidate.Validator, error) {
	// The mutations of a batch are judged one by one, so no input has them.
	inputs := []protoreflect.MessageDescriptor{(*v1.Mutation)(nil).ProtoReflect().Descriptor()}
	for spec := range specs {
		method, ok := spec.Schema.(protoreflect.MethodDescriptor)
		if !ok {
			return nil, fmt.Errorf("rpc: %s has no schema", spec.Procedure)
		}
		inputs = append(inputs, method.Input())
	}
	v, err := protovalidate.New(protovalidate.WithMessageDescriptors(inputs...), protovalidate.WithDisableLazy())
	if err != nil {
		return nil, fmt.Errorf("rpc: rules of the contract: %w", err)
	}
	return v, nil
}

// validationRefusal names the first broken rule: its field, and its bound
// where it has one.
func validationRefusal(err error) (refusal, bool) {
	e, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok || len(e.Violations) == 0 {
		return refusal{}, false
	}
	v := e.Violations[0]
	field := protovalidate.FieldPathString(v.Proto.GetField())
	reason, bounded := ruleReason(v.Proto.GetRuleId())
	if !bounded {
		return badField(field, reason, 0), true
	}
	return badField(field, reason, upperBound(v)), true
}

// upperBound is the most that a field may be. A rule with two ends reports the
// lower one, so the upper is looked up beside it.
func upperBound(v *protovalidate.Violation) int64 {
	if v.FieldDescriptor != nil && v.RuleDescriptor != nil && strings.HasPrefix(string(v.RuleDescriptor.Name()), "gt") {
		rules, err := protovalidate.ResolveFieldRules(v.FieldDescriptor)
		if err != nil || rules == nil {
			return 0
		}
		return ends(rules.ProtoReflect(), v.RuleDescriptor.ContainingMessage())
	}
	return bound(v.RuleValue)
}

// ends finds the rules of one kind among those of a field, and their upper end.
func ends(rules protoreflect.Message, kind protoreflect.MessageDescriptor) (most int64) {
	rules.Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if f.Message() == nil || f.IsList() || f.Message().FullName() != kind.FullName() {
			return true
		}
		limits := value.Message()
		for _, name := range []protoreflect.Name{"lte", "lt"} {
			if end := kind.Fields().ByName(name); end != nil && limits.Has(end) {
				most = bound(limits.Get(end))
				return false
			}
		}
		return true
	})
	return most
}

// ruleReason is the word for a kind of rule, and whether it has a bound that
// was passed.
func ruleReason(rule string) (reason string, bounded bool) {
	_, name, found := strings.Cut(rule, ".")
	if !found {
		name = rule
	}
	switch {
	case strings.HasPrefix(name, "max_"), strings.HasPrefix(name, "lt"), strings.HasPrefix(name, "gt"):
		return reasonLimit, true
	case strings.HasPrefix(name, "min_"), name == "required":
		return reasonMissing, false
	default:
		return reasonInvalid, false
	}
}

// bound reads the number in a rule; durations are in seconds.
func bound(v protoreflect.Value) int64 {
	if !v.IsValid() {
		return 0
	}
	switch n := v.Interface().(type) {
	case uint64:
		return int64(min(n, 1<<62))
	case int64:
		return n
	case uint32:
		return int64(n)
	case int32:
		return int64(n)
	case protoreflect.Message:
		if seconds := n.Descriptor().Fields().ByName("seconds"); seconds != nil {
			return n.Get(seconds).Int()
		}
	}
	return 0
}
