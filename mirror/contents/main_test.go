package contents_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
)

func TestMain(m *testing.M) { mirrortest.Run(m) }
