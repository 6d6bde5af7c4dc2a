package app_test

var update bool
