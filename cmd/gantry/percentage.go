package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A percentage is the value of a flag: a whole number from 1 to 100, with or without a percent sign. 0 is no
// value.
type percentage int

func (p *percentage) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.Itoa(int(*p)) + "%"
}

func (p *percentage) Set(s string) error {
	n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
	if err != nil || n < 1 || n > 100 {
		return fmt.Errorf("give a whole number from 1%% to 100%%, such as 10%%")
	}
	*p = percentage(n)
	return nil
}

// Type implements pflag.Value.
func (p *percentage) Type() string { return "percentage" }
