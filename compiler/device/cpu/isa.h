/* Which of the instruction sets a file is compiled for: files of the list cpu_isa_sources are compiled once
 * for each, with -DTC_ISA=avx2 or -DTC_ISA=avx512 and the flags that go with it. What they export is
 * decorated. */
#ifndef TC_DEVICE_CPU_ISA_H
#define TC_DEVICE_CPU_ISA_H

#define TC_ISA_PASTE_(name, isa) name##_##isa
#define TC_ISA_PASTE(name, isa)  TC_ISA_PASTE_(name, isa)
#define TC_ISA_NAME(name)        TC_ISA_PASTE(name, TC_ISA)

#endif
