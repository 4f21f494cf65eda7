//go:build !linux

package main

// useHugePages does nothing: other systems have no such setting.
func useHugePages() {}
