package fcm

import "github.com/beckon-dev/beckon/push"

// Rules are all rows with their classes, in order.
func Rules() (rows [][]string) {
	rows = append(rows, []string{string(push.OK), "2xx"})
	for _, r := range rules {
		rows = append(rows, []string{string(r.class), r.answer})
	}
	return rows
}
