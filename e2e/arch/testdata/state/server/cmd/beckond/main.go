// Beckond is a fixture.
package main

var version = "none"

var verbose = false
