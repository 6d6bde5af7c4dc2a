package config

import (
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// File reads a configuration file for kong: JSON with the names of the flags,
// "_" in place of "-". A variable in the environment is stronger than the file,
// which kong alone would have the other way round.
func File(r io.Reader) (kong.Resolver, error) {
	file, err := kong.JSON(r)
	if err != nil {
		return nil, err
	}
	return kong.ResolverFunc(func(ctx *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if _, set := os.LookupEnv(name); set {
				return nil, nil
			}
		}
		return file.Resolve(ctx, parent, flag)
	}), nil
}
