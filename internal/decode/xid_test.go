package decode

import "testing"

// Expectations were written from NVIDIA's documentation and the driver's source, not
// from the program's output.
func TestXidTexts(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		// 13: three lines for one event, and spellings of other drivers.
		{"NVRM: Xid (PCI:0000:3b:00): 13, pid=4321, name=python3, Graphics SM Warp Exception on (GPC 3, TPC 1, SM 0): Out Of Range Address",
			"class=application exception=warp gpc=3 tpc=1 sm=0 exception_kind=out_of_range_address action=restart_app immediate=restart_app investigatory=workflow_xid_13 level=abnormal"},
		{"NVRM: Xid (PCI:0000:3b:00): 13, Graphics Exception: ESR 0x51d730=0x30009 0x51d734=0x24 0x51d728=0x4c1eb72 0x51d72c=0x174",
			"exception=esr exception_kind=illegal_instruction_encoding esr=0x51d730=0x30009~0x51d734=0x24~0x51d728=0x4c1eb72~0x51d72c=0x174"},
		{"NVRM: Xid (PCI:0000:00:06): 13, Graphics Exception: ESR 0x519730=0x500000f 0x519734=0x0 0x519728=0x1f81fb60 0x51972c=0x1174", "exception_kind=misaligned_address"},
		{"NVRM: Xid (PCI:0000:00:06): 13, pid=577, name=as, Graphics Exception: channel 0x0000000a, Class 0000cbc0, Offset 00000510, Data 0017e2ac",
			"exception=class channel=0x0000000a class_id=0000cbc0 offset=00000510 data=0017e2ac -exception_kind"},
		{"NVRM: Xid (PCI:0000:3b:00): 13, Graphics Exception: ChID 0008, Class 0000c7c0, Offset 00000510, Data 00419e84", "channel=0008 class_id=0000c7c0"},
		{"NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Global Exception on (GPC 0, TPC 2, SM 1): Multiple Warp Errors", "exception=global gpc=0 tpc=2 sm=1 exception_kind=multiple_warp_errors"},
		{"NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Warp Exception on (GPC 5, TPC 0): Illegal Instruction Parameter", "gpc=5 tpc=0 -sm exception_kind=illegal_instruction_param"},
		{"NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Warp Exception on (GPC 5, TPC", "exception=warp truncated=yes -gpc"},
		// 31
		{"NVRM: Xid (PCI:0000:00:06): 31, pid=530, name=oob, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x7f00_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
			"engine=graphics engine_unit=gpc1 client=gpcclient_t1_8 address=0x7f0000000000 fault_type=pde access_type=write access_space=virt channel=0x0000000a"},
		{"NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, Ch 0000001c, intr 00000000. MMU Fault: ENGINE CE0 HUBCLIENT_CE0 faulted @ 0x1_20010000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_READ",
			"engine=ce0 -engine_unit client=hubclient_ce0 address=0x120010000 fault_type=pte access_type=read channel=0000001c"},
		{"NVRM: Xid (PCI:0000:3b:00): 31, MMU Fault: ENGINE HOST7 HUBCLIENT_ESC0 faulted @ 0x0_0. Fault is of type FAULT_PRIV_VIOLATION ACCESS_TYPE_PHYS_ATOMIC", "engine=host7 fault_type=priv_violation access_type=atomic access_space=phys"},
		{"NVRM: Xid (PCI:0000:3b:00): 31, MMU Fault: ENGINE GRAPH", "engine=graph -address action=restart_app"},
		// channels
		{"NVRM: Xid (PCI:0000:3b:00): 43", "action=fix_app class=application -channel level=abnormal"},
		{"NVRM: Xid (PCI:0000:3b:00.0): 43, pid=99, name=a,b, Ch 00000010", "channel=00000010"},
		{"NVRM: Xid (PCI:0000:3b:00): 45, pid=12, name=x, Ch 0000000a, errorString DBE, caused by previous Xid 48", "caused_by=48 action=monitor"},
		{"NVRM: Xid (PCI:0000:3b:00): 109, channel 0x0000002a, errorString CTX SWITCH TIMEOUT, Info 0x1c016", "channel=0x0000002a error_text=ctx_switch_timeout info=0x1c016"},
		{"[ 1234.567890] NVRM: Xid (0000:03:00): 14, Channel 00000001"[15:], "level=fact action=none class=informational"},
		// 48, 171, 172
		{"NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error) detected on GPU 0000:3b:00", "class=hardware action=reset_gpu -location"},
		{"NVRM: Xid (PCI:0000:3b:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x5d28c03a0 partition 11, subpartition 1.", "location=dram unit=framebuffer address=0x5d28c03a0 partition=11 subpartition=1"},
		{"NVRM: Xid (PCI:0000:3b:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU (00 02 00). in the LTC at partition 3", "location=sram partition=3 -subpartition"},
		{"NVRM: Xid (PCI:0000:3b:00): 171, pid=1, name=x, uncorrectable DRAM error", "location=dram"},
		{"NVRM: Xid (PCI:0000:3b:00): 172, uncorrectable SRAM error", "location=sram"},
		// 63, 64
		{"NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row (0x0000000001f2a440) marked for remapping, reset gpu to activate.", "detail=row_remap_new what=row address=0x0000000001f2a440 level=abnormal"},
		{"NVRM: Xid (PCI:0000:02:00): 63, Row remapping pending", "detail=row_remap_pending"},
		{"NVRM: Xid (PCI:0000:02:00): 63, pid=1, Dynamic Page Retirement: New retired page: 0x00000000000f3a12.", "detail=page_retired what=page"},
		{"NVRM: Xid (PCI:0000:3b:00): 64, pid=0, Row Remapper: Failed to write remapped row to InfoROM", "detail=inforom_write detail_class=recording action=reset_gpu"},
		{"NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper Error: (0x00000005d28c03a0) - All reserved rows for bank are remapped", "detail=bank_exhausted detail_class=exhausted action=drain_and_diagnose address=0x00000005d28c03a0"},
		{"NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper: (0x00000005d28c03a0) - Attempting to remap a row that is already pending remapping", "detail=already_pending detail_class=pending action=reset_gpu"},
		{"NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper Error: (0x00000005d28c03a0) - Row Remapping table is full", "detail=table_full detail_class=exhausted"},
		{"NVRM: Xid (PCI:0000:3b:00): 64, DRAM Retirement failed due to no spare at 0x00000005d28c03a0", "detail=no_spare reason=no_spare detail_class=exhausted"},
		{"NVRM: Xid (PCI:0000:3b:00): 64, DRAM Retirement failed due to internal error at 0x5d28c03a0", "detail=internal detail_class=recording"},
		{"NVRM: Xid (PCI:0000:3b:00): 64, DRAM Retirement failed due to full inforom object at 0x5d28c03a0", "detail=inforom_full detail_class=recording"},
		{"NVRM: Xid (PCI:0000:02:00): 64, Row remapping failure", "detail=row_remap_failed detail_class=unknown action=reset_gpu"},
		{"NVRM: Xid (PCI:0000:02:00): 64", "detail=unknown"},
		{"NVRM: Xid (PCI:0000:02:00): 177, Bank Remapper: New bank marked for remapping, reset gpu to activate.", "detail=bank_remap_new what=bank table_confidence=low"},
		{"NVRM: Xid (PCI:0000:02:00): 160, Marking Channel 5 in FBPA 12 along with its pair for repair. Perform GPU reset to activate repair", "what=channel index=5 place=fbpa12 pair=yes activate=gpu_reset detail=channel_repair_new"},
		{"NVRM: Xid (PCI:0000:02:00): 161, Repairing LTS failed as there are no more spares", "what=lts detail=no_spare detail_class=exhausted"},
		{"NVRM: Xid (PCI:0000:02:00): 156, Retiring TPC 3 from GPC 1 with a spare from the same GPC", "tpc=3 gpc=1 spare=same_gpc"},
		{"NVRM: Xid (PCI:0000:02:00): 157, Unable to retire TPC 3 from GPC 1", "tpc=3 gpc=1 spare=none"},
		{"NVRM: Xid (PCI:0000:02:00): 92, Disabling ECC single-bit error interrupts in framebuffer at logical partition 7", "detail=interrupts_disabled partition=7 action=monitor"},
		// 94, 95
		{"NVRM: Xid (PCI:0000:3b:00): 94, pid=1, name=x, Contained: CE User Channel (0x9). RST: No, D-RST: No", "containment=contained unit=ce_user_channel location_numbers=0x9 rst=no drst=no action=restart_app"},
		{"NVRM: Xid (PCI:0000:3b:00): 95, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", "containment=uncontained unit=ltc_tag location_numbers=0x2,0x0 rst=yes drst=no action=reset_gpu location=sram"},
		{"NVRM: Xid (PCI:0000:3b:00): 95, Uncontained: FBHUB. RST: No, D-RST: No", "unit=fbhub rst=no action=restart_app"},
		{"NVRM: Xid (PCI:0000:3b:00): 95, Uncontained: DRAM (3, 1). physAddr: 0x7f3a RST: Yes, D-RST: Yes", "unit=dram location=dram address=0x7f3a rst=yes drst=yes"},
		{"NVRM: Xid (PCI:0000:05:00): 94, Contained ECC error", "containment=contained action=restart_app -unit"},
		{"NVRM: Xid (PCI:0000:05:00): 94, Ch 00000009", "containment=contained"},
		{"NVRM: Xid (PCI:0000:3b:00): 140, An uncorrectable ECC error detected (possible firmware handling failure) DRAM:-1, LTC:1, MMU:0, PCIE:0", "dram=-1 ltc=1 mmu=0 pcie=0 units=ltc"},
		// firmware
		{"NVRM: Xid (PCI:0000:3b:00): 119, pid=2145, name=python, Timeout after 45s of waiting for RPC response from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802a02 0x8).", "timeout_s=45 rm_gpu=1 function=76 function_name=GSP_RM_CONTROL rpc_data=0x20802a02~0x8"},
		{"NVRM: Xid (PCI:0000:3b:00): 119, Timeout waiting for RPC from GSP! Expected function 103 (GSP_RM_ALLOC) (0x0 0x0).", "-timeout_s function=103 function_name=GSP_RM_ALLOC -rm_gpu"},
		{"NVRM: Xid (PCI:0000:3b:00): 119, Timeout waiting for RPC from GSP2! Expected function GSP_INIT_DONE", "gsp_instance=2 function_name=GSP_INIT_DONE"},
		{"NVRM: Xid (PCI:0000:3b:00): 119, Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected func", "timeout_s=6 rm_gpu=3 -function"},
		{"NVRM: Xid (PCI:0000:3b:00): 120, pid='<unknown>', name=<unknown>, GSP task exception: unknown @ pc:0x1, task: 1", "detail=task_exception exception=unknown pc=0x1 task=1"},
		{"NVRM: Xid (PCI:0000:3b:00): 120, GSP task exception: store access page fault (cause:0xf) @ pc:0x13ebd80, partition:2#0, task:3", "exception=store_access_page_fault cause=0xf pc=0x13ebd80 partition=2#0 task=3"},
		{"NVRM: Xid (PCI:0000:3b:00): 143, Error status 0x65 while polling for FSP boot complete, 0x0, 0x9f, 0x110186", "status=0x65 action=reset_gpu"},
		// 154
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "recovery_from=none recovery=reset from=0 to=1 action=reset_gpu level=abnormal"},
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "recovery=reboot action=reboot_node"},
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)", "recovery_from=drain_reset recovery=reset"},
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "recovery=none action=none level=fact"},
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from None to Drain P2P.", "recovery=drain_p2p to=3"},
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 to 0x5", "recovery=recover_imex action=restart_service"},
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Re", "recovery=reset truncated=yes"},
		{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x9 (Something New)", "recovery=unknown to=9"},
		// others
		{"NVRM: Xid (PCI:0000:3b:00): 999, pid=1, name=x, something new", "catalogued=no level=abnormal -class"},
		{"NVRM: Xid (PCI:0008:06:00): %d, Placeholder message", "catalogued=no placeholder=yes"},
		{"NVRM: Xid (GPU-e1a2b3c4-0000-0000-0000-000000000000): 79, GPU has fallen off the bus.", "detail=fell_off action=reboot_node class=interconnect"},
		{"NVRM: Xid (PCI:0000:3b:00): 137, RLW_RXPIPE interrupt hit on link 11 on GPU0: PRIV Error", "unit=rlw_rxpipe link=11 rm_gpu=0 detail=priv_error subject.link=11"},
		{"NVRM: Xid (PCI:0000:3b:00): 136, NVLink: Link training failed for link(s) 0 1 2", "links=0|1|2"},
		{"NVRM: Xid (PCI:0000:3b:00): 62, 323b6a66 000066f0 00000000", "status_words=323b6a66~000066f0~00000000"},
		{"NVRM: Xid (PCI:0000:3b:00): 162, x", "level=fact"},
	} {
		check(t, decodeXid(t, c.line), c.line, c.want)
	}
}

func TestLinkTexts(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"NVRM: Xid (PCI:0000:3b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
			"link=14 severity=fatal nvlink_verdict=repeat_report bits=3.16:repeat_report registers=0x0~0x0~0x10000~0x0~0x0~0x0~0x0 subject.link=14 action=reset_gpu"},
		{"NVRM: Xid (PCI:0000:3b:00): 74, NVLink: fatal error detected on link 7(0x100000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", "nvlink_verdict=secondary bits=1.20:secondary"},
		{"NVRM: Xid (PCI:0000:3b:00): 74, NVLink: fatal error detected on link 2(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", "nvlink_verdict=ignore action=monitor"},
		{"NVRM: Xid (PCI:0000:3b:00): 74, NVLink: fatal error detected on link 2(0x200000, 0x0, 0x0", "nvlink_verdict=weak_signal action=drain_and_diagnose truncated=yes"},
		{"NVRM: Xid (PCI:0000:3b:00): 74, NVLink: failed to train link 3 to remote PCI:0000:5e:00", "nvlink_detail=train_failed link=3 peer=0000:5e:00.0"},
		// Layout before R575: the sub-code is in bits 9:5.
		{"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
			"unit=netir_link_evt severity=fatal xc=0 injected=no link=8 layout=pre_r575 link_down_reason=4 link_down_text=alignment_lost action=reset_gpu decoded=yes"},
		{"NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)", "link_down_reason=37 link_down_text=peer_reset remote=packet_loss|peer_is_source"},
		{"NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x0)", "link_down_reason=38 action=monitor immediate=ignore"},
		// R575 and later: bits 6:0.
		{"NVRM: Xid (PCI:0000:04:00): 149, NETIR_LINK_EVT/NETIR_LINK_DOWN Fatal XC0 i0 Link 00 (0x02500011 0x00000000 0x00000000 0x00000000)", "layout=r575 link_down_reason=37"},
		{"NVRM: Xid (PCI:0000:3b:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 10 (0x04082907 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)", "unit=rlw_src_track severity=nonfatal xc=1 link=10 layout=r575 immediate=xid_154_eval action=restart_app decoded=yes subcode=7"},
		{"NVRM: Xid (PCI:0008:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)", "layout=pre_r575 subcode=7 immediate=xid_154_eval"},
		{"NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)", "unit=rlw_rxpipe layout=pre_r575 action=monitor errstatus=0x00000008"},
		{"NVRM: Xid (PCI:0018:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406", "unit=netir link=-1 truncated=yes intrinfo=0x000fe406 -errstatus subunit=netir/netir_int"},
		{"NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 14 (0x0215c5c6 0x00000000)", "link_down_reason=33 link_down_text=peer_disabled"},
		{"NVRM: Xid (PCI:0000:04:00): 144, SAW_MVB Link-fatal XC0 i1 Link 3 (0x00000001 0x00000002)", "severity=link_fatal injected=yes action=reset_gpu local=xid_48|xid_45"},
		{"NVRM: Xid (PCI:0000:04:00): 145, %s %s XC0 i0 Link 00 (%s %s 0x00000000 0x00000000)", "placeholder=yes -unit"},
		{"NVRM: Xid (PCI:0000:04:00): 150, MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000 0x00000000 0x00000000)", "unit=mse_watchdog action=reset_gpu decoded=yes"},
	} {
		check(t, decodeXid(t, c.line), c.line, c.want)
	}
}
