// Package manager is a fixture.
package manager
