// Package plan is a fixture.
package plan
