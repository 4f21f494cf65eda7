package main

import (
	"github.com/gantry-mirror/gantry/pkg/env"
)

// The schemes of destinations.
const (
	dockerScheme = env.RegistryScheme
	fileScheme   = env.ArchiveScheme
	ociScheme    = env.LayoutScheme
)
