package site

import (
	"time"

	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// MaxClockDifference is how much the clocks of this host and the registry may differ without a message.
const MaxClockDifference = 10 * time.Minute

// Now returns what time it is for the registry. If it has not responded yet or says no time, it is the time of
// this host.
func (t *RegistryDestination) Now() time.Time {
	return t.Client.ServerTime(t.OwnRepository(setrecord.Repository))
}
