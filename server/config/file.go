package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// fileBytes bounds a configuration file; the largest sensible one is a few KiB.
const fileBytes = 1 << 20

// Options are what kong needs to know to read a Config: the file behind a
// kong.ConfigFlag, and the names of the log levels. Every command that embeds a
// Config passes them.
func Options() []kong.Option {
	return []kong.Option{kong.Configuration(File), kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(levelOf))}
}

// File reads a configuration file for kong: JSON with the names of the flags,
// "_" in place of "-". A variable in the environment is stronger than the file,
// which kong alone would have the other way round. What is not a setting, or
// not of its type, is an ErrInvalid that names the file and the key: a typing
// error must not become a default in silence.
func File(r io.Reader) (kong.Resolver, error) {
	name := "the configuration file"
	if file, ok := r.(interface{ Name() string }); ok {
		name = file.Name()
	}
	values, err := readObject(r)
	if err == nil {
		err = checkKeys(values)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if _, set := os.LookupEnv(name); set {
				return nil, nil
			}
		}
		return values[keyOf(flag)], nil
	}), nil
}

func keyOf(flag *kong.Flag) string { return strings.ReplaceAll(flag.Name, "-", "_") }

// readObject reads exactly one JSON object.
func readObject(r io.Reader) (map[string]any, error) {
	raw, err := io.ReadAll(io.LimitReader(r, fileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > fileBytes {
		return nil, errors.New("larger than 1 MiB")
	}
	var values map[string]any
	err = json.Unmarshal(raw, &values)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(raw[:min(at.Offset, int64(len(raw)))], []byte("\n"))
		return nil, fmt.Errorf("not JSON, line %d: %w", line, err)
	}
	if err != nil || values == nil {
		return nil, errors.New("must be a JSON object of settings")
	}
	return values, nil
}

// checkKeys holds the file against the fields of Config, so that the flags of a
// command cannot be set by it.
func checkKeys(values map[string]any) error {
	parser, err := kong.New(&struct{ Config }{}, Options()...)
	if err != nil {
		return err
	}
	known := map[string]*kong.Flag{}
	for _, flag := range parser.Model.Flags {
		if flag.Name != "help" {
			known[keyOf(flag)] = flag
		}
	}
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys) // the same file has the same error
	for _, key := range keys {
		flag := known[key]
		if flag == nil {
			return fmt.Errorf("unknown key %q; keys are the names of the flags with '_' for '-'", key)
		}
		if want, ok := fits(values[key], flag.Target.Type()); !ok {
			return fmt.Errorf("key %q must be %s", key, want)
		}
	}
	return nil
}

// fits reports whether a JSON value can stand for a field of a type, and in
// words what can. The value itself stays out of errors.
func fits(value any, field reflect.Type) (want string, ok bool) {
	switch {
	case field == reflect.TypeFor[slog.Level]():
		text, isText := value.(string)
		_, known := levels(text)
		return levelNames, isText && known
	case field.Kind() == reflect.Int:
		number, isNumber := value.(float64)
		return "a whole number", isNumber && number == float64(int(number))
	case field.Kind() == reflect.Slice:
		list, isList := value.([]any)
		return "a list of strings", isList && !slices.ContainsFunc(list, func(v any) bool {
			_, isText := v.(string)
			return !isText
		})
	default:
		_, isText := value.(string)
		return "a string", isText
	}
}

const levelNames = "debug, info, warn or error"

// levels is what --log-level takes; slog would also take sums such as INFO+2.
func levels(name string) (slog.Level, bool) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, true
	case "info":
		return slog.LevelInfo, true
	case "warn":
		return slog.LevelWarn, true
	case "error":
		return slog.LevelError, true
	}
	return 0, false
}

// levelOf reads a level for kong, which alone would not say what there is.
func levelOf(ctx *kong.DecodeContext, target reflect.Value) error {
	var name string
	if err := ctx.Scan.PopValueInto("level", &name); err != nil {
		return err
	}
	level, ok := levels(name)
	if !ok {
		return fmt.Errorf("must be %s", levelNames)
	}
	target.Set(reflect.ValueOf(level))
	return nil
}
