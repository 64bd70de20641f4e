package watch

func daemonProcess(string) int { return 1 }
