// Package models is a fixture.
package models
